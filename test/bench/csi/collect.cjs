// Loaded into the driver before its program: SIGUSR2 has V8 collect all garbage, and a line on stdout reports each time.
const { Session } = require("node:inspector");

const collect = async () => {
  const session = new Session();
  session.connect();
  // What finalizers release is garbage for the second.
  for (let round = 0; round < 2; round += 1)
    await new Promise((resolve) => {
      session.post("HeapProfiler.collectGarbage", () => setImmediate(resolve));
    });
  session.disconnect();
  process.stdout.write("collected\n");
};

process.on("SIGUSR2", () => void collect());
