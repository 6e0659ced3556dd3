/**
 * The generator, with what happens when it is ended before it has begun: then nothing of its own code runs, not even a
 * `finally`.
 */
export function ifNeverBegun<T, R>(
  generator: AsyncGenerator<T, R>,
  abandon: () => void,
): AsyncGenerator<T, R> {
  const [next, end] = [generator.next.bind(generator), generator.return.bind(generator)];
  let begun = false;
  return Object.assign(generator, {
    next: (...sent: [] | [unknown]) => {
      begun = true;
      return next(...sent);
    },
    return: (value: R | PromiseLike<R>) => {
      if (!begun) abandon();
      begun = true;
      return end(value);
    },
  });
}
