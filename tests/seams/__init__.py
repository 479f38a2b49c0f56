"""Tests at the seams of two capabilities, through public doors only."""
