/** Whether the driver responds, as of the last probe. */
export interface DriverHealth {
  ready: boolean;
  message: string;
  /** Milliseconds since the epoch of the last change. */
  since: number;
}
