import koffi from "koffi";

/** <malloc.h> */
const M_ARENA_MAX = -8;

/**
 * Has all threads of this process take memory of one heap of the C library. Else glibc gives each thread a heap of its own, of
 * which what is free in one is no use to the others: a second thread with V8 in it costs some 15 MiB more. To be called before
 * there is one. Elsewhere (musl) there is one heap anyway.
 */
export function useOneArena(): void {
  call("int mallopt(int parameter, int value)", M_ARENA_MAX, 1);
}

/** Gives the kernel back what the heap of the C library does not use, between what it does as well. */
export function trimHeap(): void {
  call("int malloc_trim(size_t kept)", 0);
}

function call(declaration: string, ...args: number[]): void {
  try {
    koffi.load(null).func(declaration)(...args);
  } catch {
    // No such function: no such heaps.
  }
}
