"""Constraints of a scene, evaluated: g, its sparse Jacobian, and the products that steppers need."""
