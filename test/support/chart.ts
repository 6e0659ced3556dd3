// The chart in deploy/, as helm renders it.
interface Chart {
  CHART: string;
  MANIFESTS: string;
  renderChart(...more: string[]): Promise<string>;
  renderChartIn(chart: string, ...more: string[]): Promise<string>;
  renderManifests(): Promise<Map<string, string>>;
}

const SCRIPT = new URL("../../scripts/lib/manifests.mjs", import.meta.url).href;
export const { CHART, MANIFESTS, renderChart, renderChartIn, renderManifests } = (await import(
  SCRIPT
)) as Chart;
