/** The version of the package, or `development` in sources that were not bundled. */
export const VERSION = process.env.MOORING_VERSION ?? "development";
