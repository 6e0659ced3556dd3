/** A set of volumes as a question to the driver: the same set is the same question. */
export const setQuestion = (volumeHandles: Iterable<string>): string => [...volumeHandles].sort().join("\n");
