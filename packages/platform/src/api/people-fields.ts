// Fields that users and teams have in common.

import { s } from "@postern/apimachinery/schema/builder";

export const imagePullSecrets = s
  .list(
    s.object({
      apiGroup: s.string().describe("API group of what holds the credentials."),
      kind: s.string().describe("Kind of what holds the credentials. Absent means Secret."),
      secretName: s.string().describe("Name of the Secret."),
      secretNamespace: s.string().describe("Namespace of the Secret."),
      key: s.string().describe("The key in the Secret's data."),
    }),
  )
  .describe("Credentials for image registries that clients may log in to.");

export const displayName = s.string().describe("Name to show to people.");
export const description = s.string().describe("What people should know besides.");
