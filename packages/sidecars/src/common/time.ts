/** A time of meta/v1: RFC 3339 with whole seconds. */
export function rfc3339(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}
