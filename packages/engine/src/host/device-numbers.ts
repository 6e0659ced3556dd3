/** As glibc's major(3) and minor(3) split a dev_t. */
export function majorMinor(dev: number): string {
  const wide = BigInt(dev);
  const major = ((wide >> 8n) & 0xfffn) | ((wide >> 32n) & 0xfffff000n);
  const minor = (wide & 0xffn) | ((wide >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}
