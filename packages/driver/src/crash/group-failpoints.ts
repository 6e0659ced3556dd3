/** The failpoints in what is done to volume groups. */
export const GROUP_FAILPOINT = /^driver\/(?:[a-z]+-)?volume-group\//;
