/** The command by which an operator consents to a repair that loses data. */
export function howToConsent(name: string, faultedAt: string): string {
  const patch = JSON.stringify({ spec: { acceptDataLoss: faultedAt } });
  return `restore a snapshot, or repair it with loss of data: kubectl patch volumes.storage.mooring.dev ${name} --type merge -p '${patch}'`;
}
