// The protobuf messages of policies, webhooks and CustomResourceDefinitions, in the form of `cluster-message-tables.ts`.
// Source: k8s.io/api/admissionregistration/v1/generated.proto, k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/generated.proto

/** By the name of the message. */
export const EXTENSION_MESSAGES: { readonly [message: string]: string } = {
  ParamKind: "1:apiVersion:s 2:kind:s",
  Rule: "1:apiGroups:[]s 2:apiVersions:[]s 3:resources:[]s 4:scope:s?",
  RuleWithOperations: "1:operations:[]s 2::Rule",
  NamedRuleWithOperations: "1:resourceNames:[]s 2::RuleWithOperations",
  MatchResources:
    "1:namespaceSelector:selector 2:objectSelector:selector 3:resourceRules:[]NamedRuleWithOperations 4:excludeResourceRules:[]NamedRuleWithOperations 7:matchPolicy:s?",
  Validation: "1:expression:s 2:message:s 3:reason:s 4:messageExpression:s",
  AuditAnnotation: "1:key:s 2:valueExpression:s",
  MatchCondition: "1:name:s 2:expression:s",
  Variable: "1:name:s 2:expression:s",
  ValidatingAdmissionPolicySpec:
    "1:paramKind:ParamKind 2:matchConstraints:MatchResources 3:validations:[]Validation 4:failurePolicy:s? 5:auditAnnotations:[]AuditAnnotation 6:matchConditions:[]MatchCondition 7:variables:[]Variable",
  ExpressionWarning: "2:fieldRef:s 3:warning:s",
  TypeChecking: "1:expressionWarnings:[]ExpressionWarning",
  ValidatingAdmissionPolicyStatus: "1:observedGeneration:i 2:typeChecking:TypeChecking 3:conditions:[]condition",
  ValidatingAdmissionPolicy:
    "1:metadata:meta 2:spec:ValidatingAdmissionPolicySpec 3:status:ValidatingAdmissionPolicyStatus",
  ParamRef: "1:name:s 2:namespace:s 3:selector:selector 4:parameterNotFoundAction:s?",
  ValidatingAdmissionPolicyBindingSpec:
    "1:policyName:s 2:paramRef:ParamRef 3:matchResources:MatchResources 4:validationActions:[]s",
  ValidatingAdmissionPolicyBinding: "1:metadata:meta 2:spec:ValidatingAdmissionPolicyBindingSpec",
  ServiceReference: "1:namespace:s 2:name:s 3:path:s? 4:port:i?",
  WebhookClientConfig: "1:service:ServiceReference 2:caBundle:bytes 3:url:s?",
  ValidatingWebhook:
    "1:name:s 2:clientConfig:WebhookClientConfig 3:rules:[]RuleWithOperations 4:failurePolicy:s? 5:namespaceSelector:selector 6:sideEffects:s? 7:timeoutSeconds:i? 8:admissionReviewVersions:[]s 9:matchPolicy:s? 10:objectSelector:selector 11:matchConditions:[]MatchCondition",
  ValidatingWebhookConfiguration: "1:metadata:meta 2:webhooks:[]ValidatingWebhook",
  MutatingWebhook:
    "1:name:s 2:clientConfig:WebhookClientConfig 3:rules:[]RuleWithOperations 4:failurePolicy:s? 5:namespaceSelector:selector 6:sideEffects:s? 7:timeoutSeconds:i? 8:admissionReviewVersions:[]s 9:matchPolicy:s? 10:reinvocationPolicy:s? 11:objectSelector:selector 12:matchConditions:[]MatchCondition",
  MutatingWebhookConfiguration: "1:metadata:meta 2:webhooks:[]MutatingWebhook",
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
    "1:id:s 2:$schema:s 3:$ref:s? 4:description:s 5:type:s 6:format:s 7:title:s 8:default:raw 9:maximum:d? 10:exclusiveMaximum:b 11:minimum:d? 12:exclusiveMinimum:b 13:maxLength:i? 14:minLength:i? 15:pattern:s 16:maxItems:i? 17:minItems:i? 18:uniqueItems:b 19:multipleOf:d? 20:enum:[]raw 21:maxProperties:i? 22:minProperties:i? 23:required:[]s 24:items:schemaOrList 25:allOf:[]schema 26:oneOf:[]schema 27:anyOf:[]schema 28:not:schema 29:properties:{}schema 30:additionalProperties:schemaOrBool 31:patternProperties:{}schema 32:dependencies:{}schemaOrTexts 33:additionalItems:schemaOrBool 34:definitions:{}schema 35:externalDocs:ExternalDocumentation 36:example:raw 37:nullable:b 38:x-kubernetes-preserve-unknown-fields:b? 39:x-kubernetes-embedded-resource:b 40:x-kubernetes-int-or-string:b 41:x-kubernetes-list-map-keys:[]s 42:x-kubernetes-list-type:s? 43:x-kubernetes-map-type:s? 44:x-kubernetes-validations:[]ValidationRule",
  JSONSchemaPropsOrArray: "1:schema:schema 2:list:[]schema",
  JSONSchemaPropsOrStringArray: "1:schema:schema 2:property:[]s",
  JSONSchemaPropsOrBool: "1:allows:b 2:schema:schema",
};
