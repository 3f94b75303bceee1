// Wrapped values: the path where they are exchanged, and where responses have them.

import { s } from "@postern/apimachinery/schema/builder";

export const UNWRAP_PATH = "/unwrap";

export const UNWRAPPED_KIND = "UnwrappedValue";

/** Response to a POST of `{"value": …}` to UNWRAP_PATH. */
export type UnwrappedValue = {
  readonly kind: typeof UNWRAPPED_KIND;
  readonly accessKey?: string;
  readonly kubeConfig?: string;
  /** Name of the access key, or `<project>/<name>` of the virtual cluster. */
  readonly name: string;
  readonly createdBy: string;
  readonly creationTimestamp: string;
  /** When the credential expires. Absent if it never does. */
  readonly expirationTimestamp?: string;
};

export const wrappedField = s
  .object({
    value: s
      .string()
      .describe("The value. postern unwrap, or a POST to /unwrap, exchanges it for the credential, once."),
    id: s.string().describe("Public ID of the value, in the audit log and in Events."),
    expirationTimestamp: s.timestamp().describe("When the value expires if it is not read."),
  })
  .describe("With the query parameter wrap, such as wrap=5m: a value that reads the credential once. Never stored.");
