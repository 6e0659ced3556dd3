const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** For a terminal, `1.5 GiB`: binary units with at most one decimal. */
export function describeBytes(bytes: number | bigint): string {
  let rest = Number(bytes);
  let unit = 0;
  // By what it is rounded to: `1024.0 MiB` is 1 GiB.
  while (Math.abs(rest) >= 1023.95 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${Number.isInteger(rest) ? rest : rest.toFixed(1)} ${UNITS[unit]}`;
}
