// Microphysics of clouds with five classes of water: vapour, cloud droplets, cloud ice, rain, snow (Hong, Dudhia and Chen,
// Monthly Weather Review 2004, "HDC"; rates of rain and snow after Lin, Farley and Orville 1983 and Rutledge and Hobbs 1983).
// A thread has a column of air and walks it level by level, again and again; what it keeps of each level is in local memory.
// Fields are stored by west-east, then height, then south-north. Units are those of the SI; mixing ratios are kg of water in a
// kg of air.

#define MOST_LEVELS 28

// Air, water, ice
constexpr float CPD = 1004.5f, CPV = 1846.4f, RV = 461.6f, EP2 = 287.0f / 461.6f, CLIQ = 4190.0f, CICE = 2106.0f;
constexpr float T0 = 273.15f, TRIPLE = 273.16f, PSAT = 610.78f;
constexpr float XLV = 2.5e6f, XLS = 2.85e6f, XLF = 3.5e5f, XLV1 = CLIQ - CPV;
constexpr float DENR = 1000.0f, DEN0 = 1.28f, PI = 3.14159265f, QMIN = 1e-15f, QCRMIN = 1e-9f;
// Rain and snow: numbers of drops, fall speeds a D^b, and their gamma functions; see workload.py
constexpr float N0R = 8e6f, N0S = 2e6f, N0SMAX = 1e11f, ALPHA = 0.12f, BVTR = 0.8f, BVTS = 0.41f, AVTR = 841.9f, AVTS = 11.72f;
constexpr float PIDN0R = PI * DENR * N0R, PIDN0S = PI * 100.0f * N0S;
constexpr float G3R = 4.6941742f, G4R = 17.837862f, G5R = 1.8273551f, G3S = 3.0133150f, G4S = 10.275404f, G5S = 1.5508607f;
constexpr float PVTR = AVTR * G4R / 6, PVTS = AVTS * G4S / 6;
constexpr float PACRR = PI * N0R * AVTR * G3R / 4, PACRC = PI * N0S * AVTS * G3S / 4;
constexpr float PRECR1 = 2 * PI * N0R * 0.78f, PRECR2 = 2 * PI * N0R * 0.31f * 29.015513f * G5R;
constexpr float PRECS1 = 4 * N0S * 0.65f, PRECS2 = 4 * N0S * 0.44f * 3.4234486f * G5S;
constexpr float SLOPER_LEAST = 1 / 8e4f, SLOPES_LEAST = 1 / 1e5f;
// Conversion of droplets to rain and of ice to snow, freezing
constexpr float QC0 = 5.0265482e-4f, QCK1 = 6.7738954f, ROQIMAX = 8.125e-5f, DICON = 11.9f, DIMAX = 5e-4f;
constexpr float PFRZ1 = 100.0f, PFRZ2 = 0.66f, XNCR = 3e8f;

struct Fields {
    float *q, *qc, *qi, *qr, *qs;
    const float *den, *p, *delz;
};

// What a thread keeps of its column.
struct Column {
    float t[MOST_LEVELS], cpm[MOST_LEVELS], xl[MOST_LEVELS];
    float qs1[MOST_LEVELS], qs2[MOST_LEVELS], rh1[MOST_LEVELS], rh2[MOST_LEVELS];
    float sloper[MOST_LEVELS], slopebr[MOST_LEVELS], slopes[MOST_LEVELS], slopebs[MOST_LEVELS];
    float denfac[MOST_LEVELS], n0sfac[MOST_LEVELS], xni[MOST_LEVELS], w1[MOST_LEVELS], w2[MOST_LEVELS];
};

__device__ float power(float x, float exponent) { return expf(logf(x) * exponent); }

// Mixing ratio of saturated air, over water or over ice below the triple point.
__device__ float saturated(float t, float p, bool ice)
{
    float heat = ice ? XLS : XLV, a = -(CPV - (ice ? CICE : CLIQ)) / RV, b = a + heat / (RV * TRIPLE), ratio = TRIPLE / t;
    float pressure = PSAT * expf(logf(ratio) * a + b * (1.0f - ratio));
    return fmaxf(EP2 * pressure / (p - pressure), QMIN);
}

__device__ float viscosity(float t, float den) { return 1.496e-6f * t * sqrtf(t) / (t + 120.0f) / den; }
__device__ float diffusion(float t, float p) { return 8.794e-5f * power(t, 1.81f) / p; }
__device__ float conductivity(float t, float den) { return 1.414e3f * viscosity(t, den) * den; }

// Heat and vapour that must be carried away while vapour is deposited.
__device__ float hindrance(float heat, float t, float p, float den, float saturation)
{
    return den * heat * heat / (conductivity(t, den) * RV * t * t) + 1.0f / (saturation * diffusion(t, p));
}

__device__ float ventilation(float t, float p, float den)
{
    float v = viscosity(t, den);
    return power(v / diffusion(t, p), 0.3333333f) * rsqrtf(v) * sqrtf(sqrtf(DEN0 / den));
}

__device__ float crystals(float den, float qi)
{
    float mass = den * fmaxf(qi, QMIN);
    return fminf(fmaxf(5.38e7f * sqrtf(sqrtf(mass * mass * mass)), 1e3f), 1e6f);
}

__device__ float slope_of_rain(float qr, float den) { return qr <= QCRMIN ? SLOPER_LEAST : sqrtf(sqrtf(qr * den / PIDN0R)); }

__device__ float slope_of_snow(float qs, float den, float n0sfac)
{
    return qs <= QCRMIN ? SLOPES_LEAST : sqrtf(sqrtf(qs * den / (PIDN0S * n0sfac)));
}

__device__ void slopes(Column &c, int k, float t, float qr, float qs, float den)
{
    c.n0sfac[k] = fmaxf(fminf(expf(ALPHA * (T0 - t)), N0SMAX / N0S), 1.0f);
    c.sloper[k] = slope_of_rain(qr, den);
    c.slopebr[k] = power(c.sloper[k], BVTR);
    c.slopes[k] = slope_of_snow(qs, den, c.n0sfac[k]);
    c.slopebs[k] = power(c.slopes[k], BVTS);
}

__device__ void saturation(Column &c, const Fields &f, int levels, int width)
{
#pragma unroll 1
    for (int k = 0; k < levels; k++) {
        float p = f.p[k * width], q = f.q[k * width];
        c.qs1[k] = saturated(c.t[k], p, false);
        c.rh1[k] = fmaxf(q / c.qs1[k], QMIN);
        c.qs2[k] = saturated(c.t[k], p, c.t[k] < TRIPLE);
        c.rh2[k] = fmaxf(q / c.qs2[k], QMIN);
    }
}

// Fall speeds in levels a second, and in how many steps rain and snow must fall for none to miss a level.
__device__ int fall_speeds(Column &c, const Fields &f, int levels, int width, float dt)
{
    int steps = 1;
#pragma unroll 1
    for (int k = 0; k < levels; k++) {
        float den = f.den[k * width], delz = f.delz[k * width];
        slopes(c, k, c.t[k], f.qr[k * width], f.qs[k * width], den);
        c.denfac[k] = sqrtf(DEN0 / den);
        c.w1[k] = PVTR * c.slopebr[k] * c.denfac[k] / delz;
        c.w2[k] = PVTS * c.slopebs[k] * c.denfac[k] / delz;
        steps = max(steps, int(fmaxf(c.w1[k], c.w2[k]) * dt + 1.0f));
        c.xni[k] = crystals(den, f.qi[k * width]);
    }
    return steps;
}

// What falls from each level in one step goes to the one below; what leaves the lowest is returned, as density a second.
__device__ float fall(float *water, const float *speed, const Fields &f, int levels, int width, float dt, float share)
{
    float from_above = 0, lowest = 0;
#pragma unroll 1
    for (int k = levels - 1; k >= 0; k--) {
        float den = f.den[k * width], delz = f.delz[k * width];
        float flux = den * water[k * width] * speed[k] * share;
        water[k * width] = fmaxf(water[k * width] - (flux - from_above / delz) * dt / den, 0.0f);
        from_above = flux * delz;
        lowest = flux;
    }
    return lowest;
}

__device__ void melt_snow(Column &c, const Fields &f, int levels, int width, float dt, float share)
{
#pragma unroll 1
    for (int k = levels - 1; k >= 0; k--) {
        float qs = f.qs[k * width], t = c.t[k];
        if (t > T0 && qs > 0.0f) {
            float den = f.den[k * width], slope = c.slopes[k];
            float exposed = PRECS1 * slope * slope
                + PRECS2 * ventilation(t, f.p[k * width], den) * slope * slope * sqrtf(slope * c.slopebs[k]);
            float melted = conductivity(t, den) / XLF * (T0 - t) * (PI / 2) * c.n0sfac[k] * exposed * dt * share;
            melted = fminf(fmaxf(melted, -qs * share), 0.0f);
            f.qs[k * width] = qs + melted;
            f.qr[k * width] -= melted;
            c.t[k] = t + XLF / c.cpm[k] * melted;
        }
    }
}

__device__ int ice_speeds(Column &c, const Fields &f, int levels, int width, float dt)
{
    int steps = 1;
#pragma unroll 1
    for (int k = levels - 1; k >= 0; k--) {
        float qi = f.qi[k * width];
        c.w2[k] = 0;
        if (qi > 0.0f) {
            float diameter = fmaxf(fminf(DICON * sqrtf(f.den[k * width] * qi / c.xni[k]), DIMAX), 1e-25f);
            c.w2[k] = 1.49e4f * power(diameter, 1.31f) / f.delz[k * width];
        }
        steps = max(steps, int(c.w2[k] * dt + 1.0f));
    }
    return steps;
}

struct Cell {
    float t, q, qc, qi, qr, qs, p, den;
};

// Water that freezes or melts at once.
__device__ void freeze(Cell &a, const Column &c, int k, float dt)
{
    float below = T0 - a.t, warmth = (below < 0 ? XLF : XLS - c.xl[k]) / c.cpm[k];
    if (below < 0 && a.qi > 0) {
        a.qc += a.qi;
        a.t -= warmth * a.qi;
        a.qi = 0;
    }
    if (below > 40.0f && a.qc > 0) {
        a.qi += a.qc;
        a.t += warmth * a.qc;
        a.qc = 0;
    }
    if (below > 0 && a.qc > 0) {
        float frozen = fminf(PFRZ1 * (expf(PFRZ2 * below) - 1.0f) * a.den / DENR / XNCR * a.qc * a.qc * dt, a.qc);
        a.qi += frozen;
        a.t += warmth * frozen;
        a.qc -= frozen;
    }
    if (below > 0 && a.qr > 0) {
        float s = c.sloper[k], s3 = s * s * s;
        float frozen = 20 * PI * PI * PFRZ1 * N0R * DENR / a.den * (expf(PFRZ2 * below) - 1.0f) * (s3 * s3 * s) * dt;
        frozen = fminf(frozen, a.qr);
        a.qs += frozen;
        a.t += warmth * frozen;
        a.qr -= frozen;
    }
}

// Rates a second: droplets to rain by themselves and to falling rain; vapour to rain; droplets to falling snow; ice to snow by
// itself and to falling snow; vapour to ice and to snow; new crystals; snow that evaporates as it melts.
struct Rates {
    float praut, pracw, prevp, psacw, psaut, psaci, pidep, psdep, pigen, psevp;
};

// Not more than there is, and of evaporation and condensation not more than half of what brings the air to saturation.
__device__ float bounded(float rate, float excess, float rest, float most_lost)
{
    if (rate < 0)
        return fmaxf(fmaxf(fmaxf(rate, excess * 0.5f), rest), -most_lost);
    return fminf(fminf(rate, excess * 0.5f), rest);
}

__device__ Rates warm_rates(const Cell &a, const Column &c, int k, float dt, float vent)
{
    Rates r = {};
    float s = c.sloper[k], sb = c.slopebr[k], excess = (fmaxf(a.q, QMIN) - c.qs1[k]) / dt;
    if (a.qc > QC0)
        r.praut = fminf(QCK1 * power(a.qc, 7.0f / 3.0f), a.qc / dt);
    if (a.qr > QCRMIN && a.qc > QMIN)
        r.pracw = fminf(PACRR * s * s * s * sb * a.qc * c.denfac[k], a.qc / dt);
    if (a.qr > 0) {
        float exposed = PRECR1 * s * s + PRECR2 * vent * s * s * sqrtf(s * sb);
        float rate = (c.rh1[k] - 1.0f) * exposed / hindrance(c.xl[k], a.t, a.p, a.den, c.qs1[k]);
        r.prevp = bounded(rate, excess, rate < 0 ? -a.qr / dt : excess, a.qr / dt);
    }
    return r;
}

__device__ void cold_rates(Rates &r, const Cell &a, const Column &c, int k, float dt, float vent)
{
    float below = T0 - a.t, s = c.slopes[k], sb = c.slopebs[k], n = c.n0sfac[k], crystal = crystals(a.den, a.qi);
    float supsat = fmaxf(a.q, QMIN) - c.qs2[k], excess = supsat / dt;
    float exposed = n * (PRECS1 * s * s + PRECS2 * vent * s * s * sqrtf(s * sb));
    if (a.qs > QCRMIN && a.qc > QMIN)
        r.psacw = fminf(PACRC * n * s * s * s * sb * a.qc * c.denfac[k], a.qc / dt);
    if (below > 0) {
        float hindered = hindrance(XLS, a.t, a.p, a.den, c.qs2[k]), diameter = DICON * sqrtf(a.den * a.qi / crystal);
        if (a.qs > QCRMIN && a.qi > QMIN) {
            float d = fminf(diameter, DIMAX), apart = PVTS * sb * c.denfac[k] - 1.49e4f * power(d, 1.31f);
            float swept = 2 * s * s * s + 2 * d * s * s + d * d * s;
            r.psaci = PI * a.qi * expf(-0.07f * below) * N0S * n * fabsf(apart) * swept * 0.25f;
        }
        bool done = false; // the air is saturated
        if (a.qi > 0) {
            r.pidep = bounded(4.0f * diameter * crystal * (c.rh2[k] - 1.0f) / hindered, excess, excess - r.prevp, a.qi / dt);
            done = fabsf(r.prevp + r.pidep) >= fabsf(excess);
        }
        if (a.qs > 0 && !done) {
            float rest = excess - r.prevp - r.pidep;
            r.psdep = bounded((c.rh2[k] - 1.0f) * exposed / hindered, excess, rest, a.qs / dt);
            done = fabsf(r.prevp + r.pidep + r.psdep) >= fabsf(excess);
        }
        if (supsat > 0 && !done) {
            float mass = 4.92e-11f * power(1e3f * expf(0.1f * below), 1.33f);
            float rest = excess - r.prevp - r.pidep - r.psdep;
            r.pigen = fminf(fminf(fmaxf(0.0f, (mass / a.den - a.qi) / dt), excess), rest);
        }
        if (a.qi > 0)
            r.psaut = fmaxf(0.0f, (a.qi - ROQIMAX / a.den) / dt);
    } else if (a.qs > 0 && c.rh1[k] < 1.0f) {
        float rate = (c.rh1[k] - 1.0f) * exposed / hindrance(c.xl[k], a.t, a.p, a.den, c.qs1[k]);
        r.psevp = fminf(fmaxf(rate, -a.qs / dt), 0.0f);
    }
}

__device__ float share(float there, float wanted) { return wanted > there ? there / wanted : 1.0f; }

// Moves the water, and the heat that goes with it; nothing gives more than it has.
__device__ void apply(Cell &a, Rates r, const Column &c, int k, float dt)
{
    float heat, cut = share(fmaxf(QMIN, a.qc), (r.praut + r.pracw + r.psacw) * dt);
    r.praut *= cut;
    r.pracw *= cut;
    r.psacw *= cut;
    if (a.t <= T0) {
        cut = share(fmaxf(QMIN, a.qi), (r.psaut + r.psaci - r.pigen - r.pidep) * dt);
        r.psaut *= cut;
        r.psaci *= cut;
        r.pigen *= cut;
        r.pidep *= cut;
        a.q -= (r.prevp + r.psdep + r.pigen + r.pidep) * dt;
        a.qr = fmaxf(a.qr + (r.praut + r.pracw + r.prevp) * dt, 0.0f);
        a.qi = fmaxf(a.qi - (r.psaut + r.psaci - r.pigen - r.pidep) * dt, 0.0f);
        a.qs = fmaxf(a.qs + (r.psdep + r.psaut + r.psaci + r.psacw) * dt, 0.0f);
        heat = XLS * (r.psdep + r.pidep + r.pigen) + c.xl[k] * r.prevp + (XLS - c.xl[k]) * r.psacw;
    } else {
        a.q -= (r.prevp + r.psevp) * dt;
        a.qr = fmaxf(a.qr + (r.praut + r.pracw + r.prevp + r.psacw) * dt, 0.0f);
        a.qs = fmaxf(a.qs + r.psevp * dt, 0.0f);
        heat = c.xl[k] * (r.prevp + r.psevp);
    }
    a.qc = fmaxf(a.qc - (r.praut + r.pracw + r.psacw) * dt, 0.0f);
    a.t += heat / c.cpm[k] * dt;
}

// Vapour beyond saturation becomes droplets; droplets in dry air become vapour.
__device__ void condense(Cell &a, const Column &c, int k)
{
    float limit = saturated(a.t, a.p, false), xl = c.xl[k];
    float excess = (fmaxf(a.q, QMIN) - limit) / (1.0f + xl * xl / (RV * c.cpm[k]) * limit / (a.t * a.t));
    float moved = excess > 0 ? fminf(excess, fmaxf(a.q, 0.0f)) : fmaxf(excess, -a.qc);
    a.q -= moved;
    a.qc = fmaxf(a.qc + moved, 0.0f);
    a.t += moved * xl / c.cpm[k];
    if (a.qc <= QMIN)
        a.qc = 0;
    if (a.qi <= QMIN)
        a.qi = 0;
}

__device__ void exchange(Column &c, const Fields &f, int levels, int width, float dt)
{
#pragma unroll 1
    for (int k = 0; k < levels; k++) {
        int at = k * width;
        Cell a = {c.t[k], f.q[at], f.qc[at], f.qi[at], f.qr[at], f.qs[at], f.p[at], f.den[at]};
        freeze(a, c, k, dt);
        slopes(c, k, a.t, a.qr, a.qs, a.den);
        float vent = ventilation(a.t, a.p, a.den);
        Rates r = warm_rates(a, c, k, dt, vent);
        cold_rates(r, a, c, k, dt, vent);
        apply(a, r, c, k, dt);
        condense(a, c, k);
        c.t[k] = a.t;
        f.q[at] = a.q;
        f.qc[at] = a.qc;
        f.qi[at] = a.qi;
        f.qr[at] = a.qr;
        f.qs[at] = a.qs;
    }
}

extern "C" __global__ void wsm5_gpu(float *th, const float *pii, float *q, float *qc, float *qi, float *qr, float *qs,
                                    const float *den, const float *p, const float *delz, float *rain, float *snow, float delt,
                                    int width, int depth, int levels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= width || j >= depth)
        return;
    int base = j * levels * width + i;
    Fields f = {q + base, qc + base, qi + base, qr + base, qs + base, den + base, p + base, delz + base};
    Column c;
#pragma unroll 1
    for (int k = 0; k < levels; k++) {
        float vapour = fmaxf(f.q[k * width], QMIN);
        c.t[k] = th[base + k * width] * pii[base + k * width];
        c.cpm[k] = CPD * (1.0f - vapour) + vapour * CPV;
        c.xl[k] = XLV - XLV1 * (c.t[k] - T0);
    }
    int loops = max(int(delt / 120.0f + 0.5f), 1);
    float dt = delt / loops, fallen = 0, fallen_ice = 0;
#pragma unroll 1
    for (int loop = 0; loop < loops; loop++) {
        saturation(c, f, levels, width);
        int steps = fall_speeds(c, f, levels, width, dt);
#pragma unroll 1
        for (int n = 0; n < steps; n++) {
            fallen += fall(f.qr, c.w1, f, levels, width, dt, 1.0f / steps) * dt;
            fallen_ice += fall(f.qs, c.w2, f, levels, width, dt, 1.0f / steps) * dt;
            melt_snow(c, f, levels, width, dt, 1.0f / steps);
        }
        steps = ice_speeds(c, f, levels, width, dt);
#pragma unroll 1
        for (int n = 0; n < steps; n++)
            fallen_ice += fall(f.qi, c.w2, f, levels, width, dt, 1.0f / steps) * dt;
        exchange(c, f, levels, width, dt);
    }
#pragma unroll 1
    for (int k = 0; k < levels; k++)
        th[base + k * width] = c.t[k] / pii[base + k * width];
    float depth_of_water = f.delz[0] / DENR * 1000.0f; // in mm
    rain[j * width + i] += (fallen + fallen_ice) * depth_of_water;
    snow[j * width + i] += fallen_ice * depth_of_water;
}
