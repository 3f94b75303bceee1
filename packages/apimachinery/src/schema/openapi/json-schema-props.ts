// The schema of schemas in CustomResourceDefinitions, as OpenAPI documents publish it. Definitions themselves are checked keyword by keyword
// (read-schema.ts).
// Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types_jsonschema.go

import type { StructuralSchema } from "../structural-schema.ts";

/** The schema of a schema, inside of other kinds and of itself: schemas nest without limit. */
export const JSON_SCHEMA_PROPS: StructuralSchema = {
  type: "object",
  description: "JSONSchemaProps is a JSON-Schema following Specification Draft 4 (http://json-schema.org/).",
  "x-kubernetes-preserve-unknown-fields": true,
};

export const JSON_SCHEMA_PROPS_NAME = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

const text = (description: string): StructuralSchema => ({ type: "string", description });
const flag = (description: string): StructuralSchema => ({ type: "boolean", description });
const count = (description: string): StructuralSchema => ({ type: "integer", format: "int64", description });
const number = (description: string): StructuralSchema => ({ type: "number", format: "double", description });
/** A value of any type, which OpenAPI says by leaving the type out. */
const anything = (description: string): StructuralSchema => ({ description });
const list = (items: StructuralSchema, description: string): StructuralSchema => ({
  type: "array",
  description,
  items,
  "x-kubernetes-list-type": "atomic",
});
const schemas = (description: string): StructuralSchema => list(JSON_SCHEMA_PROPS, description);
const schemasByName = (description: string): StructuralSchema => ({
  type: "object",
  description,
  additionalProperties: JSON_SCHEMA_PROPS,
});

const validationRule: StructuralSchema = {
  type: "object",
  description: "ValidationRule describes a validation rule written in the CEL expression language.",
  required: ["rule"],
  properties: {
    rule: text("Rule represents the expression which will be evaluated by CEL. `self` is bound to the scoped value."),
    message: text("Message represents the message displayed when validation fails."),
    messageExpression: text("MessageExpression declares a CEL expression that evaluates to the message."),
    reason: text(
      "reason provides a machine-readable validation failure reason: FieldValueInvalid, FieldValueForbidden, FieldValueRequired or FieldValueDuplicate.",
    ),
    fieldPath: text("fieldPath represents the field path returned when the validation fails."),
    optionalOldSelf: flag(
      "optionalOldSelf is used to opt a transition rule into evaluation even when the object is created.",
    ),
  },
};

/** Every keyword. */
export const PUBLISHED_JSON_SCHEMA_PROPS: StructuralSchema = {
  type: "object",
  ...(JSON_SCHEMA_PROPS.description === undefined ? {} : { description: JSON_SCHEMA_PROPS.description }),
  properties: {
    $ref: text("A reference to another schema. Forbidden in CustomResourceDefinitions."),
    $schema: text("The dialect of the schema."),
    additionalItems: anything("Forbidden in CustomResourceDefinitions."),
    additionalProperties: anything("A schema for the members that are not declared, or a boolean."),
    allOf: schemas("Schemas of which all must hold."),
    anyOf: schemas("Schemas of which at least one must hold."),
    default: anything("default is a default value for undefined object fields."),
    definitions: schemasByName("Forbidden in CustomResourceDefinitions."),
    dependencies: {
      type: "object",
      description: "Forbidden in CustomResourceDefinitions.",
      "x-kubernetes-preserve-unknown-fields": true,
    },
    description: text("What the value means."),
    enum: list(anything("An allowed value."), "The allowed values."),
    example: anything("An example of a value."),
    exclusiveMaximum: flag("Whether the maximum itself is not allowed."),
    exclusiveMinimum: flag("Whether the minimum itself is not allowed."),
    externalDocs: {
      type: "object",
      description: "ExternalDocumentation allows referencing an external resource for extended documentation.",
      properties: { description: text("What is documented there."), url: text("Where it is documented.") },
    },
    format: text("format is an OpenAPI v3 format string. Unknown formats are ignored."),
    id: text("Forbidden in CustomResourceDefinitions."),
    items: anything("The schema of the items of a list."),
    maxItems: count("The maximum number of items."),
    maxLength: count("The maximum number of characters."),
    maxProperties: count("The maximum number of members."),
    maximum: number("The maximum of a number."),
    minItems: count("The minimum number of items."),
    minLength: count("The minimum number of characters."),
    minProperties: count("The minimum number of members."),
    minimum: number("The minimum of a number."),
    multipleOf: number("What a number must be a multiple of."),
    not: JSON_SCHEMA_PROPS,
    nullable: flag("Whether the value may be null."),
    oneOf: schemas("Schemas of which exactly one must hold."),
    pattern: text("A regular expression that a text must match."),
    patternProperties: schemasByName("Forbidden in CustomResourceDefinitions."),
    properties: schemasByName("The schemas of declared members."),
    required: list({ type: "string" }, "The members that must be there."),
    title: text("A name of the schema."),
    type: text("The type of the value: array, boolean, integer, number, object or string."),
    uniqueItems: flag("May not be true in CustomResourceDefinitions."),
    "x-kubernetes-embedded-resource": flag(
      "x-kubernetes-embedded-resource defines that the value is an embedded Kubernetes runtime.Object, with TypeMeta and ObjectMeta.",
    ),
    "x-kubernetes-int-or-string": flag(
      "x-kubernetes-int-or-string specifies that this value is either an integer or a string.",
    ),
    "x-kubernetes-list-map-keys": list(
      { type: "string" },
      "x-kubernetes-list-map-keys annotates an array with the x-kubernetes-list-type `map` by specifying the keys used as the index of the map.",
    ),
    "x-kubernetes-list-type": text(
      "x-kubernetes-list-type annotates an array to further describe its topology: atomic, set or map.",
    ),
    "x-kubernetes-map-type": text(
      "x-kubernetes-map-type annotates an object to further describe its topology: granular or atomic.",
    ),
    "x-kubernetes-preserve-unknown-fields": flag(
      "x-kubernetes-preserve-unknown-fields stops the API server decoding step from pruning fields which are not specified in the validation schema.",
    ),
    "x-kubernetes-validations": {
      ...list(
        validationRule,
        "x-kubernetes-validations describes a list of validation rules written in the CEL expression language.",
      ),
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["rule"],
    },
  },
};
