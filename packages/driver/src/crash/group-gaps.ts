/** The gaps in what is done to volume groups. */
export const GROUP_GAP = /^driver\/(?:[a-z]+-)?volume-group\//;
