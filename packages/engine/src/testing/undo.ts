/** Takes back what a test has made, the last first; what fails does not keep the rest, and is thrown in the end. */
export async function undoAll(works: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const work of [...works].reverse()) {
    try {
      await work();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
