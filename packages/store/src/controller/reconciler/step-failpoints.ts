import { failpoint } from "../../runtime/failpoint.ts";
import type { Outcome } from "./outcome.ts";

/** Called when a step has been applied: passes the failpoint behind it. Made by {@link stepFailpoints}. */
export type StepFailpoints<Step extends { do: string }> = (step: Step) => void;

/** `throws`: the step ends with an error whatever happens, so nothing comes behind it. */
type Listed = true | "throws";

/** Every step once, and of steps that write different things (`what`) each of these. */
type StepList<Step extends { do: string }> = {
  readonly [Name in Step["do"]]: WhatsOf<Extract<Step, { do: Name }>>;
};

type WhatsOf<Step> = [Step] extends [never]
  ? Listed
  : [Step] extends [{ what: infer What extends string }]
    ? string extends What
      ? Listed
      : { readonly [Each in What]: Listed }
    : Listed;

/**
 * Declares a failpoint behind every step of a controller, `<package>/<controller>/<step>` (for steps with a `what`,
 * `<step>-<what>`). Called at module level, so that tests can list them; a step that is not listed does not compile.
 */
export function stepFailpoints<Step extends { do: string }>(
  controller: string,
  steps: StepList<Exclude<Step, Outcome>>,
): StepFailpoints<Exclude<Step, Outcome>> {
  const points = new Map<string, () => void>();
  const declare = (name: string, listed: Listed) => {
    if (listed !== "throws") points.set(name, failpoint(`${controller}/${name}`));
  };
  for (const [step, listed] of Object.entries<Listed | Readonly<Record<string, Listed>>>(steps)) {
    if (typeof listed !== "object") declare(step, listed);
    else for (const [what, each] of Object.entries(listed)) declare(`${step}-${what}`, each);
  }
  return (step) => {
    const point = points.get(step.do) ?? ("what" in step ? points.get(`${step.do}-${step.what}`) : undefined);
    point?.();
  };
}
