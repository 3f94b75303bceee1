// The address of a webhook, and the CA that verifies its certificate.
// Source: k8s.io/api/admissionregistration/v1/types.go (WebhookClientConfig), k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go

import { type Infer, s } from "@postern/apimachinery/schema/builder";

const serviceFields = () =>
  s.object({
    namespace: s.string().required(),
    name: s.string().required(),
    path: s.string(),
    port: s.int32(),
  });

/** Each group has its own, which goes by its name in OpenAPI documents. */
export const webhookClientFields = () =>
  s.object({
    url: s.string(),
    service: serviceFields(),
    caBundle: s.bytes(),
  });

export type WebhookClientConfig = Infer<ReturnType<typeof webhookClientFields>>;

/** A webhook and how long it may take: 10 seconds by default. */
export type WebhookTarget = {
  readonly clientConfig: WebhookClientConfig;
  readonly timeoutSeconds?: number | undefined;
};
