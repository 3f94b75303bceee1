// The address of a webhook, and the CA that verifies its certificate.
// Source: k8s.io/api/admissionregistration/v1/types.go (WebhookClientConfig), k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go

import { type Infer, s } from "@postern/apimachinery/schema/builder";

const serviceFields = s
  .object({
    namespace: s.string().required().describe("namespace is the namespace of the service."),
    name: s.string().required().describe("name is the name of the service."),
    path: s.string().describe("path is an optional URL path which will be sent in any request to this service."),
    port: s
      .int32()
      .describe(
        "If specified, the port on the service that hosting webhook. Default to 443 for backward compatibility.",
      ),
  })
  .describe("service is a reference to the service for this webhook. Either service or url must be specified.");

export const webhookClientFields = s
  .object({
    url: s
      .string()
      .describe(
        "url gives the location of the webhook, in standard URL form (scheme://host:port/path). Exactly one of url or service must be specified.",
      ),
    service: serviceFields,
    caBundle: s
      .bytes()
      .describe(
        "caBundle is a PEM encoded CA bundle which will be used to validate the webhook's server certificate. If unspecified, the public CAs are used.",
      ),
  })
  .describe("ClientConfig defines how to communicate with the hook.");

export type WebhookClientConfig = Infer<typeof webhookClientFields>;

/** A webhook and how long it may take: 10 seconds by default. */
export type WebhookTarget = {
  readonly clientConfig: WebhookClientConfig;
  readonly timeoutSeconds?: number | undefined;
};
