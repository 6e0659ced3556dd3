import koffi from "koffi";

/** <malloc.h> */
const [M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX] = [-1, -3, -8];
/** What glibc begins with: 128 KiB. */
const THRESHOLD = 2 ** 17;

/**
 * Has this process keep little of what it has freed in the heap of the C library. To be called before there is a second thread
 * with V8 in it. Elsewhere (musl) there is one such heap anyway.
 *
 * - All threads share a heap. Else glibc gives each thread a heap of its own, of which what is free in one is no use to the others: a
 *   second thread with V8 costs some 15 MiB more.
 * - Large blocks stay apart from it. Else each that is freed raises the size from which they do, up to 32 MiB, and what is free at
 *   the end of the heap is kept up to twice that: 8 MiB after a start.
 */
export function keepHeapSmall(): void {
  const parameters = [
    [M_ARENA_MAX, 1],
    [M_MMAP_THRESHOLD, THRESHOLD],
    [M_TRIM_THRESHOLD, THRESHOLD],
  ] as const;
  for (const [parameter, value] of parameters)
    call("int mallopt(int parameter, int value)", parameter, value);
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
