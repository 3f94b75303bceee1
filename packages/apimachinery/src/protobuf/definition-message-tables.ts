// The protobuf messages of CustomResourceDefinitions, in the form of `cluster-message-tables.ts`.
// Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/generated.proto

/** By the name of the message. */
export const DEFINITION_MESSAGES: { readonly [message: string]: string } = {
  WebhookConversion: "2:clientConfig:WebhookClientConfig 3:conversionReviewVersions:[]s",
  CustomResourceConversion: "1:strategy:s 2:webhook:WebhookConversion",
  CustomResourceColumnDefinition: "1:name:s 2:type:s 3:format:s 4:description:s 5:priority:i 6:jsonPath:s",
  CustomResourceDefinitionCondition:
    "1:type:s 2:status:s 3:lastTransitionTime:time 4:reason:s 5:message:s 6:observedGeneration:i",
  CustomResourceDefinitionNames: "1:plural:s 2:singular:s 3:shortNames:[]s 4:kind:s 5:listKind:s 6:categories:[]s",
  CustomResourceSubresourceScale: "1:specReplicasPath:s 2:statusReplicasPath:s 3:labelSelectorPath:s?",
  CustomResourceSubresourceStatus: "",
  CustomResourceSubresources: "1:status:CustomResourceSubresourceStatus 2:scale:CustomResourceSubresourceScale",
  CustomResourceValidation: "1:openAPIV3Schema:schema",
  SelectableField: "1:jsonPath:s",
  CustomResourceDefinitionVersion:
    "1:name:s 2:served:b 3:storage:b 4:schema:CustomResourceValidation 5:subresources:CustomResourceSubresources 6:additionalPrinterColumns:[]CustomResourceColumnDefinition 7:deprecated:b 8:deprecationWarning:s? 9:selectableFields:[]SelectableField",
  CustomResourceDefinitionSpec:
    "1:group:s 3:names:CustomResourceDefinitionNames 4:scope:s 7:versions:[]CustomResourceDefinitionVersion 9:conversion:CustomResourceConversion 10:preserveUnknownFields:b",
  CustomResourceDefinitionStatus:
    "1:conditions:[]CustomResourceDefinitionCondition 2:acceptedNames:CustomResourceDefinitionNames 3:storedVersions:[]s",
  CustomResourceDefinition:
    "1:metadata:meta 2:spec:CustomResourceDefinitionSpec 3:status:CustomResourceDefinitionStatus",
  ExternalDocumentation: "1:description:s 2:url:s",
  ValidationRule: "1:rule:s 2:message:s 3:messageExpression:s 4:reason:s? 5:fieldPath:s 6:optionalOldSelf:b?",
  JSONSchemaProps:
    "1:id:s 2:$schema:s 3:$ref:s? 4:description:s 5:type:s 6:format:s 7:title:s 8:default:raw 9:maximum:d? 10:exclusiveMaximum:b 11:minimum:d? 12:exclusiveMinimum:b 13:maxLength:i? 14:minLength:i? 15:pattern:s 16:maxItems:i? 17:minItems:i? 18:uniqueItems:b 19:multipleOf:d? 20:enum:[]raw 21:maxProperties:i? 22:minProperties:i? 23:required:[]s 24:items:schemaOrList 25:allOf:[]schema 26:oneOf:[]schema 27:anyOf:[]schema 28:not:schema 29:properties:{}schema 30:additionalProperties:schemaOrBool 31:patternProperties:{}schema 33:additionalItems:schemaOrBool 34:definitions:{}schema 35:externalDocs:ExternalDocumentation 36:example:raw 37:nullable:b 38:x-kubernetes-preserve-unknown-fields:b? 39:x-kubernetes-embedded-resource:b 40:x-kubernetes-int-or-string:b 41:x-kubernetes-list-map-keys:[]s 42:x-kubernetes-list-type:s? 43:x-kubernetes-map-type:s? 44:x-kubernetes-validations:[]ValidationRule",
  JSONSchemaPropsOrArray: "1:schema:schema 2:list:[]schema",
  JSONSchemaPropsOrBool: "1:allows:b 2:schema:schema",
};
