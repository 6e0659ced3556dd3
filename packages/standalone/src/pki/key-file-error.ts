/** A file of a key or certificate that is not what was written. `hint`: the way out, for who starts the server. */
export class KeyFileError extends Error {
  override readonly name = "KeyFileError";
  readonly hint: string;
  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}
