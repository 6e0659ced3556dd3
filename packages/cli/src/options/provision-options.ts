import type { ControllerOptions } from "@mooring/sidecars";
import { type Command, InvalidArgumentError, Option } from "commander";

/** How claims become volumes, by the flags of external-provisioner. */
export interface ProvisionFlags {
  defaultFstype: string;
  volumeNameUuidLength: number;
  strictTopology: boolean;
  immediateTopology: boolean;
  controllerPublishReadonly: boolean;
  preventVolumeModeConversion: boolean;
}

type ProvisionSettings = NonNullable<ControllerOptions["provision"]>;

/** Programs in Go take `--flag` and `--flag=false`. */
function yesOrNo(text: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new InvalidArgumentError("true or false");
}

function uuidLength(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= -1 && value <= 32) return value;
  throw new InvalidArgumentError("a whole number from -1, which is all of it, to 32");
}

/** An option of a program in Go: `--name`, `--name=true` or `--name=false`. */
export const switched = (name: string, what: string, fallback: boolean): Option =>
  new Option(`--${name} [true|false]`, what).argParser(yesOrNo).preset("true").default(fallback);

/** Adds them to a command. */
export function withProvisionFlags(command: Command): Command {
  return command
    .option("--default-fstype <type>", "for classes that name no file system", "")
    .addOption(
      new Option("--volume-name-uuid-length <number>", "characters of a claim's UID in names of volumes")
        .argParser(uuidLength)
        .default(-1, "all of it"),
    )
    .addOption(switched("strict-topology", "late binding: ask for the chosen node's place only", false))
    .addOption(switched("immediate-topology", "immediate binding: ask for the places that nodes have", true))
    .addOption(
      switched("controller-publish-readonly", "volumes that are ReadOnlyMany only are published so", false),
    )
    .addOption(
      switched("prevent-volume-mode-conversion", "refuse to restore a snapshot in another volume mode", true),
    );
}

/** The controller's options. */
export function provisionSettings({
  defaultFstype: defaultFsType,
  ...flags
}: ProvisionFlags): ProvisionSettings {
  const { volumeNameUuidLength, strictTopology, immediateTopology } = flags;
  const { controllerPublishReadonly, preventVolumeModeConversion } = flags;
  return {
    ...{ defaultFsType, volumeNameUuidLength, strictTopology, immediateTopology },
    ...{ controllerPublishReadonly, preventVolumeModeConversion },
  };
}
