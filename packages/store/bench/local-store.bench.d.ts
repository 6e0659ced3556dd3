export interface Measurement {
  name: string;
  unit: string;
  value: number;
  /** The same unit, measured in the same run. */
  baseline: number;
  baselineName: string;
  ratio: number;
  /** What the value should stay below. */
  limit?: number;
}
/** LocalStore against an fsynced append to a file, and against its own limits. Takes a few seconds. */
export declare function run(): Promise<Measurement[]>;
