// Forces by falcON (Dehnen 2002, J. Comput. Phys. 179, 27): G = 1, the kernel P1, no softening; x (n, 3), m (n,).
#define falcON_NONEMO
#include <body.h>
#include <forces.h>
using namespace falcON;

struct Sphere {
    bodies stars;
    forces tree;
    Sphere(const unsigned* counts, float theta)
        : stars(counts, fieldset(fieldset::gravity | fieldset::f)),
          tree(&stars, 0.f, theta, p1, false, 1.f, Default::mac) {}
};

extern "C" Sphere* begin(int n, const float* m, float theta) {
    unsigned counts[bodytype::NUM] = {0};
    counts[bodytype::std] = n;
    Sphere* sphere = new Sphere(counts, theta);
    for (body star = sphere->stars.begin_all_bodies(); star; ++star) star.mass() = *m++;
    return sphere;
}

extern "C" void accelerations(Sphere* sphere, const float* x, float* a) {
    for (body star = sphere->stars.begin_all_bodies(); star; ++star, x += 3)
        for (int d = 0; d < 3; d++) star.pos()[d] = x[d];
    sphere->tree.grow(Default::Ncrit, 0);
    sphere->tree.approximate_gravity(true);
    for (body star = sphere->stars.begin_all_bodies(); star; ++star)
        for (int d = 0; d < 3; d++) *a++ = star.acc()[d];
}
