import { TypeTable } from "../schema/dsl.ts";
import { metaTypes } from "../schema/object-meta.ts";

/** The kind CustomResourceDefinition itself. */
export const definitionTypes = new TypeTable(
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
  `
type CustomResourceDefinitionNames "What a kind is called."
  plural!: string -- Name in URLs, lower case.
  singular: string -- Name of one object, lower case.
  shortNames: []string -- Short forms for the command line.
  kind!: string -- Name in objects.
  listKind: string -- Name of lists of it.
  categories: []string -- Groups of kinds, such as all.
type ExternalDocumentation "Where more is written."
  description: string -- What is there.
  url: string -- Where.
type ValidationRule "A rule in the Common Expression Language."
  rule!: string -- The rule; self is the value.
  message: string -- What to say when it fails.
  messageExpression: string -- The same, computed.
  reason: string -- Machine-readable cause.
  fieldPath: string -- The field to blame.
  optionalOldSelf: bool -- Run also when there is no old value.
type JSONSchemaProps "A structural schema."
  $schema: string -- Not used.
  $ref: string -- Not allowed.
  id: string -- Not used.
  description: string -- What the value is.
  type: string -- Type of the value.
  format: string -- Format of the value.
  title: string -- Short description.
  default: any -- Value of absent fields.
  maximum: double -- Greatest number.
  exclusiveMaximum: bool -- Exclude the greatest number itself.
  minimum: double -- Least number.
  exclusiveMinimum: bool -- Exclude the least number itself.
  maxLength: int64 -- Most characters.
  minLength: int64 -- Least characters.
  pattern: string -- Regular expression of the text.
  maxItems: int64 -- Most elements.
  minItems: int64 -- Least elements.
  uniqueItems: bool -- Not allowed; use list type set.
  multipleOf: double -- The number is a multiple of this.
  enum: []any -- All values there are.
  maxProperties: int64 -- Most fields.
  minProperties: int64 -- Least fields.
  required: []string -- Fields that must be there.
  items: any -- Schema of elements.
  allOf: []JSONSchemaProps -- All must be valid.
  oneOf: []JSONSchemaProps -- Exactly one must be valid.
  anyOf: []JSONSchemaProps -- One must be valid.
  not: JSONSchemaProps -- Must not be valid.
  properties: {}JSONSchemaProps -- Schemas of fields.
  additionalProperties: any -- Schema of the values of a map.
  patternProperties: {}JSONSchemaProps -- Not allowed.
  dependencies: object -- Not allowed.
  additionalItems: any -- Not allowed.
  definitions: {}JSONSchemaProps -- Not allowed.
  externalDocs: ExternalDocumentation -- Where more is written.
  example: any -- An example.
  nullable: bool -- Null is a value.
  x-kubernetes-preserve-unknown-fields: bool -- Keep fields that are not declared.
  x-kubernetes-embedded-resource: bool -- The value is an object with kind and metadata.
  x-kubernetes-int-or-string: bool -- The value is an integer or a text.
  x-kubernetes-list-map-keys: []string -- Keys that identify elements.
  x-kubernetes-list-type: string -- atomic, set or map.
  x-kubernetes-map-type: string -- granular or atomic.
  x-kubernetes-validations: []ValidationRule map(rule) merge(rule) -- Rules for the value.
type CustomResourceValidation "How objects are checked."
  openAPIV3Schema: JSONSchemaProps -- The schema of the whole object.
type CustomResourceSubresourceScale "Where a scale reads and writes."
  specReplicasPath!: string -- Path of the wanted number.
  statusReplicasPath!: string -- Path of the present number.
  labelSelectorPath: string -- Path of the selector.
type CustomResourceSubresources "Parts with an address of their own."
  status: object -- The status.
  scale: CustomResourceSubresourceScale -- The scale.
type CustomResourceColumnDefinition "A column of a table."
  name!: string -- Heading.
  type!: string -- Type of the cells.
  format: string -- Format of the cells.
  description: string -- Description.
  priority: int32 -- Above 0: wide tables only.
  jsonPath!: string -- Where the cell comes from.
type SelectableField "A field that field selectors may use."
  jsonPath!: string -- Path of the field.
type CustomResourceDefinitionVersion "One version of a kind."
  name!: string -- Such as v1 or v1beta1.
  served!: bool -- Requests may use it.
  storage!: bool -- Objects are stored in it; true for one version.
  deprecated: bool -- Requests get a warning.
  deprecationWarning: string -- The warning.
  schema: CustomResourceValidation -- How objects are checked.
  subresources: CustomResourceSubresources -- Parts with an address of their own.
  additionalPrinterColumns: []CustomResourceColumnDefinition -- Columns of tables.
  selectableFields: []SelectableField -- Fields that field selectors may use.
type CustomResourceConversion "How versions turn into each other."
  strategy!: string -- None or Webhook.
  webhook: object -- Who converts.
type CustomResourceDefinitionSpec "What a kind is."
  group!: string -- API group.
  names!: CustomResourceDefinitionNames -- What it is called.
  scope!: string -- Cluster or Namespaced.
  versions!: []CustomResourceDefinitionVersion -- Its versions.
  conversion: CustomResourceConversion -- How versions turn into each other.
  preserveUnknownFields: bool -- Must be false.
type CustomResourceDefinitionCondition "One aspect of a definition's state."
  type!: string -- Name of the aspect, such as Established.
  status!: string -- True, False or Unknown.
  lastTransitionTime: time -- When the status last changed.
  reason: string -- Reason in CamelCase.
  message: string -- Human-readable message.
  observedGeneration: int64 -- Generation that it was derived from.
type CustomResourceDefinitionStatus "How a definition is."
  conditions: []CustomResourceDefinitionCondition map(type) -- Aspects of it.
  acceptedNames: CustomResourceDefinitionNames -- Names in force.
  storedVersions: []string -- Versions that objects may be stored in.
type CustomResourceDefinition "A kind that is defined at run time."
  apiVersion: string -- Version of this form of the object.
  kind: string -- Kind of the object.
  metadata: ObjectMeta -- Identity and bookkeeping.
  spec!: CustomResourceDefinitionSpec -- What the kind is.
  status: CustomResourceDefinitionStatus -- How it is; read only.
`,
  [metaTypes],
);
