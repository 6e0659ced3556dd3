/**
 * Columns padded to their widest cell, three spaces between: the layout `kubectl get` has. `style` may color a row's line,
 * given its index.
 */
export function table(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  style: (line: string, row: number) => string = (line) => line,
): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("   ")
      .trimEnd();
  return `${[line(header), ...rows.map((row, index) => style(line(row), index))].join("\n")}\n`;
}

/** `4m12s`, `3h`, `12d`: how long ago, as `kubectl` writes ages. */
export function age(since: string | undefined, now: Date): string {
  if (since === undefined) return "<unknown>";
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(since)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
