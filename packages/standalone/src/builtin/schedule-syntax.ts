/** How schedules of CronJobs are read: five fields, and `5/15` is every 15 from 5 on, as in Kubernetes. */
export const SCHEDULE_SYNTAX = { mode: "5-part", sloppyRanges: true } as const;
