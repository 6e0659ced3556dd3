/** What the driver gets besides the class's parameters. */
export interface ModifyOptions {
  /** Sends the driver the names of claim and volume, among the parameters. */
  extraModifyMetadata: boolean;
}
