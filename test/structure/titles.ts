/** Of a test that is declared there, also in a loop and with a part of its title filled in. */
const TITLE = /\btest\(\s*(["`])(.*?)\1\s*,/gs;

/** The titles of a file's tests, as its text has them. */
export const titlesOf = (text: string): string[] =>
  [...text.matchAll(TITLE)].map(([, , title = ""]) => title);
