/* Attention of TYPE: a block computes what one query sees. MASK is the type of the mask, whose truth values say what is seen,
 * while floats are added.
 * p: queries, keys, values, mask or nothing, result, scores (of the wide type), lengths or nothing (64-bit integers).
 * n: rows, keys, size of a key, size of a value, heads of queries, heads of keys, queries;
 * from 7: steps by batch, head and place in the queries, 10: in the keys, 13: in the values, 16: in the result, 19: in the mask,
 * by keys as well; 23: whether nothing ahead is seen, 24: how far back, 25: how far ahead, or -1; 26: keys in front of the first
 * query; 27: whether these follow from the lengths. x: a factor, a cap or 0. */
#define W NAME(W, TYPE)
#ifndef THREADS
#define THREADS 256
#endif

EXPORT void attention(Args a) {
    __shared__ W shared[THREADS];
    int thread = (int)threadIdx.x;
    long long keys = a.n[1];
    GROUPS(g, a.n[0]) {
        long long query = g % a.n[6], head = g / a.n[6] % a.n[4], batch = g / (a.n[6] * a.n[4]);
        long long own = head / (a.n[4] / a.n[5]);
        long long from_q = batch * a.n[7] + head * a.n[8] + query * a.n[9];
        long long from_k = batch * a.n[10] + own * a.n[11], from_v = batch * a.n[13] + own * a.n[14];
        long long from_m = batch * a.n[19] + head * a.n[20] + query * a.n[21];
        long long to = batch * a.n[16] + head * a.n[17] + query * a.n[18];
        long long length = a.p[6] ? ((const long long *)a.p[6])[batch] : keys;
        long long offset = a.n[27] ? length - a.n[6] : a.n[26];
        W *scores = (W *)a.p[5] + g * keys;
        W most = -INFINITE, sum = 0;
        for (long long key = thread; key < keys; key += blockDim.x) {
            long long ahead = key - query - offset;
            W score = 0;
            for (long long i = 0; i < a.n[2]; i++)
                score = FMA(NAME(load, TYPE)(a.p[0], from_q + i), NAME(load, TYPE)(a.p[1], from_k + key * a.n[12] + i), score);
            score *= (W)a.x[0];
            if (a.x[1] > 0) score = (W)a.x[1] * TANH(score / (W)a.x[1]);
            if (a.p[3]) score += BIAS(NAME(load, MASK)(a.p[3], from_m + key * a.n[22]));
            if (key >= length || (a.n[23] && ahead > 0) || (a.n[24] >= 0 && -ahead > a.n[24]) ||
                (a.n[25] >= 0 && ahead > a.n[25]))
                score = -INFINITE;
            scores[key] = score;
            most = LARGER(most, score);
        }
        shared[thread] = most;
        __syncthreads();
        for (unsigned half = blockDim.x / 2; half; half /= 2) {
            if (thread < half) shared[thread] = LARGER(shared[thread], shared[thread + half]);
            __syncthreads();
        }
        most = shared[0];
        __syncthreads();
        /* A query that sees nothing gives zeros. */
        int nothing = most == -INFINITE;
        for (long long key = thread; key < keys; key += blockDim.x) {
            W weight = nothing ? (W)0 : EXP(scores[key] - most);
            scores[key] = weight;
            sum += weight;
        }
        shared[thread] = sum;
        __syncthreads();
        for (unsigned half = blockDim.x / 2; half; half /= 2) {
            if (thread < half) shared[thread] += shared[thread + half];
            __syncthreads();
        }
        sum = shared[0];
        for (long long i = thread; i < a.n[3]; i += blockDim.x) {
            W out = 0;
            for (long long key = 0; key < keys; key++) {
                W weight = scores[key];
                if (weight != 0) out = FMA(weight, NAME(load, TYPE)(a.p[2], from_v + key * a.n[15] + i), out);
            }
            NAME(store, TYPE)(a.p[4], to + i, nothing ? (W)0 : out / sum);
        }
        __syncthreads();
    }
}
