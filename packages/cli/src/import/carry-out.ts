import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { type Hands, performStep } from "./perform.ts";
import type { ImportPlan } from "./plan.ts";
import type { ImportStep } from "./steps.ts";

/** How plans come about, and how steps are made. */
export interface CarryOutOptions extends Hands {
  /** Of these images, by the names that they had before; default: of all. Read anew each time. */
  read(images?: readonly string[]): Promise<ImportPlan[]>;
  /** A step is done. */
  report(image: string, step: ImportStep): void;
}

/** Makes the first step of what is left until nothing is. Images that are blocked, or become so, stay as they are. */
export async function carryOut(
  images: readonly string[] | undefined,
  options: CarryOutOptions,
): Promise<ImportPlan[]> {
  const ended: ImportPlan[] = [];
  for (const { image } of await options.read(images)) ended.push(await carryOutOne(image, options));
  return ended;
}

async function carryOutOne(image: string, options: CarryOutOptions): Promise<ImportPlan> {
  for (let last: string | undefined; ; ) {
    const [plan] = await options.read([image]);
    if (plan === undefined) throw new CommandError(`image ${image} is gone`, { exitCode: EXIT.negative });
    const [step] = plan.steps;
    if (step === undefined) return plan;
    if (step.do === last)
      throw new CommandError(`${image}: ${step.do} was done, and is to be done again`, {
        exitCode: EXIT.negative,
        next: "somebody else changes the same image or objects: find out who, then run this again",
      });
    await performStep(step, options);
    options.report(image, step);
    last = step.do;
  }
}
