/* Recurrent layers of TYPE, one direction. GATES tells RNN (1), GRU (3) and LSTM (4) apart, LATE whether the reset gate of a
 * GRU comes after the product. ACT0(x), ACT1(x) and ACT2(x) are the activations, HELD(x) is what they are given of x. States
 * are of the wide type, of two steps in turn.
 * p: input, weights of the input, of the state, biases or nothing, lengths or nothing (32-bit integers), peepholes or nothing,
 * all states, the last ones, the last cells or nothing; wide: states, cells, what reset gates leave of states; the first
 * states or nothing, the first cells or nothing.
 * n: sequences, units, features, steps, the direction, how many there are, whether it goes backwards, the step;
 * from 8: steps of the input by time and sequence, 10: of all states by time, direction and sequence, 13: of other states by
 * direction and sequence. */
#define W NAME(W, TYPE)
#ifndef THREADS
#define THREADS 256
#endif

/* The sum over the threads of a block, for each of them. */
DEVICE W total(W *shared, W sum) {
    int thread = (int)threadIdx.x;
    shared[thread] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        if (thread < half) shared[thread] += shared[thread + half];
        __syncthreads();
    }
    sum = shared[0];
    __syncthreads();
    return sum;
}

/* A thread's part of the product of a row with elements, or with states. */
DEVICE W seen(const void *matrix, long long row, const void *x, long long from, long long count) {
    W sum = 0;
    for (long long k = threadIdx.x; k < count; k += blockDim.x)
        sum = FMA(NAME(load, TYPE)(matrix, row * count + k), NAME(load, TYPE)(x, from + k), sum);
    return sum;
}
DEVICE W past(const void *matrix, long long row, const W *state, long long count) {
    W sum = 0;
    for (long long k = threadIdx.x; k < count; k += blockDim.x)
        sum = FMA(NAME(load, TYPE)(matrix, row * count + k), state[k], sum);
    return sum;
}
DEVICE W bias(const void *p, long long at) { return p ? NAME(load, TYPE)(p, at) : (W)0; }

/* The states of all sequences at the start. */
EXPORT void begin(Args a) {
    EACH(i, a.n[0] * a.n[1]) {
        long long own = a.n[4] * a.n[0] * a.n[1] + i;
        long long at = a.n[4] * a.n[13] + i / a.n[1] * a.n[14] + i % a.n[1];
        W state = bias(a.p[12], at);
        ((W *)a.p[9])[own] = state;
        NAME(store, TYPE)(a.p[7], at, state);
#if GATES == 4
        W cell = bias(a.p[13], at);
        ((W *)a.p[10])[own] = cell;
        NAME(store, TYPE)(a.p[8], at, cell);
#endif
    }
}

/* What both kernels of a step know of unit `g % units` of a sequence. */
#define UNIT(g)                                                                                          \
    long long units = a.n[1], unit = (g) % units, sequence = (g) / units;                                \
    long long length = a.p[4] ? ((const int *)a.p[4])[sequence] : a.n[3];                                \
    length = length < 0 ? 0 : length > a.n[3] ? a.n[3] : length;                                         \
    int over = a.n[7] >= length;                                                                         \
    long long at = over ? a.n[7] : a.n[6] ? length - 1 - a.n[7] : a.n[7];                                \
    long long from = at * a.n[8] + sequence * a.n[9];                                                    \
    long long all = a.n[5] * a.n[0] * units, first = (a.n[4] * a.n[0] + sequence) * units;               \
    const W *state = (const W *)a.p[9] + (a.n[7] & 1) * all + first;
#define ROW(gate) ((a.n[4] * GATES + (gate)) * units + unit)
/* Of the input, then of the state. */
#define BIAS(gate, of) bias(a.p[3], ((2 * a.n[4] + (of)) * GATES + (gate)) * units + unit)
#define GATE(gate)                                                                                                    \
    (total(shared, seen(a.p[1], ROW(gate), a.p[0], from, a.n[2]) + past(a.p[2], ROW(gate), state, units)) +           \
     BIAS(gate, 0) + BIAS(gate, 1))

#if GATES == 3 && !LATE
/* What the reset gates leave of the states, all of which the next ones are made of. */
EXPORT void reset(Args a) {
    __shared__ W shared[THREADS];
    GROUPS(g, a.n[0] * a.n[1]) {
        UNIT(g)
        if (over) continue;
        W gate = GATE(1);
        if (threadIdx.x == 0) ((W *)a.p[11])[first + unit] = ACT0(HELD(gate)) * state[unit];
    }
}
#endif

/* The next state of each unit; a block computes one. */
EXPORT void step(Args a) {
    __shared__ W shared[THREADS];
    GROUPS(g, a.n[0] * a.n[1]) {
        UNIT(g)
        long long to = at * a.n[10] + a.n[4] * a.n[11] + sequence * a.n[12] + unit;
        long long end = a.n[4] * a.n[13] + sequence * a.n[14] + unit;
        if (over) {
            if (threadIdx.x == 0) NAME(store, TYPE)(a.p[6], to, 0);
            continue;
        }
        W next;
#if GATES == 1
        W gate = GATE(0);
        next = ACT0(HELD(gate));
#elif GATES == 3
        W update = GATE(0);
        W own = total(shared, seen(a.p[1], ROW(2), a.p[0], from, a.n[2])) + BIAS(2, 0);
#if LATE
        W reset = GATE(1);
        own += ACT0(HELD(reset)) * (total(shared, past(a.p[2], ROW(2), state, units)) + BIAS(2, 1));
#else
        own += total(shared, past(a.p[2], ROW(2), (const W *)a.p[11] + first, units)) + BIAS(2, 1);
#endif
        update = ACT0(HELD(update));
        next = ((W)1 - update) * ACT1(HELD(own)) + update * state[unit];
#else
        W *cells = (W *)a.p[10] + first + unit;
        W input = GATE(0), output = GATE(1), forget = GATE(2), fresh = GATE(3), cell = *cells;
        const void *peepholes = a.p[5];
        long long peephole = a.n[4] * 3 * units + unit;
        input += bias(peepholes, peephole) * cell;
        forget += bias(peepholes, peephole + 2 * units) * cell;
        cell = ACT0(HELD(forget)) * cell + ACT0(HELD(input)) * ACT1(HELD(fresh));
        output += bias(peepholes, peephole + units) * cell;
        next = ACT0(HELD(output)) * ACT2(HELD(cell));
#endif
        if (threadIdx.x == 0) {
#if GATES == 4
            *cells = cell;
            if (a.n[7] + 1 == length) NAME(store, TYPE)(a.p[8], end, cell);
#endif
            ((W *)a.p[9])[((a.n[7] + 1) & 1) * all + first + unit] = next;
            NAME(store, TYPE)(a.p[6], to, next);
            if (a.n[7] + 1 == length) NAME(store, TYPE)(a.p[7], end, next);
        }
    }
}
