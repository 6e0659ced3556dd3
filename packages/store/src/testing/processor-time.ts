/** From now on, as often as it is asked: milliseconds of processor time that this process has had. How busy the machine is does not count. */
export function processorTime(): () => number {
  const began = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1000;
  };
}
