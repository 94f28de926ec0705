/* PyTorch's matrix library asks for the processor's maker before it uses AVX-512, and on other makes than
 * one stays with AVX2. Preloading these two answers lets it use AVX-512 everywhere. Nobody runs it like
 * this; it shows how fast PyTorch could be here.
 *     cc -shared -fPIC -O2 mkl_avx512.c -o mkl_avx512.so
 *     LD_PRELOAD=$PWD/mkl_avx512.so python torch_peer.py --workload w1
 */
int mkl_serv_intel_cpu(void) { return 1; }
int mkl_serv_intel_cpu_true(void) { return 1; }
