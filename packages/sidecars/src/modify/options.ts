/** What the driver is told besides the class's parameters. */
export interface ModifyOptions {
  /** Tells the driver the names of claim and volume, among the parameters. */
  extraModifyMetadata: boolean;
}
