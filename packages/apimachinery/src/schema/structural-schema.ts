// The subset of OpenAPI v3 that describes an object: what a CustomResourceDefinition calls a structural schema.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/structural.go

import type { JsonValue } from "../json/json-value.ts";

/** A structural schema as in a CustomResourceDefinition. `s` and `kindSchema` make one; write one by hand only for what they have no word for. */
export type StructuralSchema = {
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly default?: JsonValue;
  readonly enum?: readonly JsonValue[];
  readonly properties?: { readonly [name: string]: StructuralSchema };
  /** A schema for the values of a map; `true` is a map of anything. */
  readonly additionalProperties?: StructuralSchema | boolean;
  readonly items?: StructuralSchema;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly allOf?: readonly StructuralSchema[];
  readonly anyOf?: readonly StructuralSchema[];
  readonly oneOf?: readonly StructuralSchema[];
  readonly not?: StructuralSchema;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  /** Keys of the strategic merge patch, on the built-in kinds only. */
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
  readonly "x-kubernetes-validations"?: readonly JsonValue[];
  /** Ours: members that are published as required. The validation of the kind says in its own words that one is missing. */
  readonly publishedRequired?: readonly string[];
  /** Ours: a time that Go reads and writes to the microsecond. Not published. */
  readonly isMicroTime?: boolean;
  /** Ours: an amount as Go reads and writes it. Not published. */
  readonly isQuantity?: boolean;
  /** Replacement for this field. Ours: published only as a part of the description. */
  readonly deprecation?: string;
};

/** The schema of a declared member; undefined for any other name, also for those of Object.prototype. */
export function propertyOf({ properties }: StructuralSchema, name: string): StructuralSchema | undefined {
  return properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

/** The schema that every undeclared member of a map has; undefined where members are free or not allowed. */
export function valueSchemaOf({ additionalProperties }: StructuralSchema): StructuralSchema | undefined {
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}
