/**
 * Whether a resource version is newer than another one. They are numbers that grow (KEP-5504), of more digits than a number here has
 * room for; undefined where one of them is something else.
 */
export function isNewerVersion(a: string, than: string): boolean | undefined {
  if (!isNumber(a) || !isNumber(than)) return undefined;
  return a.length === than.length ? a > than : a.length > than.length;
}

/** Asked of every object that is read. */
function isNumber(version: string): boolean {
  if (version === "" || (version.length > 1 && version.charCodeAt(0) === ZERO)) return false;
  for (let i = 0; i < version.length; i++) {
    const code = version.charCodeAt(i);
    if (code < ZERO || code > NINE) return false;
  }
  return true;
}

const [ZERO, NINE] = [48, 57];
