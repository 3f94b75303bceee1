// Fields that users and teams have in common.

import { s } from "@postern/apimachinery/schema/builder";

export const imagePullSecrets = s
  .list(
    s.object({
      apiGroup: s.string().describe("API group of the object with the credentials."),
      kind: s.string().describe("Kind of the object with the credentials. Defaults to Secret."),
      secretName: s.string().describe("Name of the Secret."),
      secretNamespace: s.string().describe("Namespace of the Secret."),
      key: s.string().describe("The key in the Secret's data."),
    }),
  )
  .describe("Credentials for image registries.");

export const displayName = s.string().describe("Display name.");
export const description = s.string().describe("Description.");
