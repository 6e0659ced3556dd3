/** A pool's file system that takes no writes any more: no transaction could be ended, or the disk below has failed it. */
export interface PoolFault {
  message: string;
  /** Devices of its images that are open: as long as there are any, it cannot be mounted anew. */
  devices: number;
  /** Those of them that no workload uses: they are closed for that, also when a ticket wants them next. */
  idle: number;
}
