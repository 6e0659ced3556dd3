import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  getOption,
  ScalarType,
} from "@bufbuild/protobuf";
import { covers } from "@mooring/store/testing";
import { file_csi_v0_csi } from "../gen/csi/v0/csi_pb.ts";
import {
  alpha_enum_value,
  alpha_field,
  alpha_method,
  csi_secret,
  file_csi_v1_csi,
} from "../gen/csi/v1/csi_pb.ts";
import { file_identity_identity } from "../gen/identity/identity_pb.ts";
import { file_volumegroup_volumegroup } from "../gen/volumegroup/volumegroup_pb.ts";

/** `message field number type label options` of every row that is on the wire. */
function expected(table: string, source?: string): string[] {
  const text = readFileSync(new URL(`./tables/${table}`, import.meta.url), "utf8");
  return text
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => line.split("\t"))
    .filter((row) => source === undefined || row[8] === source)
    .filter(([, , , , label = ""]) => !["meta", "empty", "extension"].includes(label))
    .map(([message, field, number, type, label, , options = ""]) => {
      const marks = options
        .split(",")
        .filter((mark) => /^(csi_secret|alpha_(field|method|enum_value))$/.test(mark));
      return [message, field, number, type, label, marks.join(",")].join(" ");
    })
    .sort();
}

/** The same rows, read off the generated descriptors. */
function actual(file: DescFile, marks = true): string[] {
  const short = (typeName: string) => typeName.replace(`${file.proto.package}.`, "");
  const fieldRow = (message: DescMessage, field: DescField) => {
    const label = field.oneof
      ? `oneof:${field.oneof.name}`
      : { list: "repeated", map: "map", message: "singular", enum: "singular", scalar: "singular" }[
          field.fieldKind
        ];
    const set = [
      ...(marks && getOption(field, csi_secret) ? ["csi_secret"] : []),
      ...(getOption(field, alpha_field) ? ["alpha_field"] : []),
    ];
    return [
      short(message.typeName),
      field.name,
      field.number,
      typeOf(field, short),
      label,
      set.join(","),
    ].join(" ");
  };
  const enumRows = (desc: DescEnum) =>
    desc.values.map((value) => {
      const mark = getOption(value, alpha_enum_value) ? "alpha_enum_value" : "";
      return [short(desc.typeName), value.name, value.number, "enum", "value", mark].join(" ");
    });
  const messageRows = (message: DescMessage): string[] => [
    ...message.fields.map((field) => fieldRow(message, field)),
    ...message.nestedEnums.flatMap(enumRows),
    ...message.nestedMessages.flatMap(messageRows),
  ];
  const rpcRows = file.services.flatMap((service) =>
    service.methods.map((method) => {
      const response = `${method.methodKind === "server_streaming" ? "stream " : ""}${short(method.output.typeName)}`;
      const mark = getOption(method, alpha_method) ? "alpha_method" : "";
      return [service.name, method.name, short(method.input.typeName), response, "rpc", mark].join(" ");
    }),
  );
  return [...file.messages.flatMap(messageRows), ...file.enums.flatMap(enumRows), ...rpcRows].sort();
}

function typeOf(field: DescField, short: (typeName: string) => string): string {
  if (field.fieldKind === "map") return "map<string,string>";
  if (field.message !== undefined) return short(field.message.typeName);
  if (field.enum !== undefined) return short(field.enum.typeName);
  return ScalarType[field.scalar ?? ScalarType.STRING].toLowerCase();
}

test("csi.v1 is on the wire what its table has, options included", () => {
  assert.deepEqual(actual(file_csi_v1_csi), expected("csi_v1_wire.tsv"));
});

test("csi.v0 is on the wire what its table has: 3, 11 and 7 methods", () => {
  covers("CSI-015");
  assert.deepEqual(actual(file_csi_v0_csi, false), expected("csi_v0_wire.tsv"));
  assert.deepEqual(
    file_csi_v0_csi.services.map(({ methods }) => methods.length),
    [3, 11, 7],
  );
});

test("the volume group service is on the wire what its table has", () => {
  covers("GRP-001");
  assert.equal(file_volumegroup_volumegroup.services[0]?.typeName, "volumegroup.Controller");
  assert.deepEqual(actual(file_volumegroup_volumegroup), expected("csi_addons_wire.tsv", "volumegroup"));
});

test("the add-ons' identity service is on the wire what its table has", () => {
  assert.deepEqual(actual(file_identity_identity), expected("csi_addons_wire.tsv", "identity"));
});
