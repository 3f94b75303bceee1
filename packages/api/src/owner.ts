// The owner of an object, and other users with access: fields that several resources share.

import { type Infer, s } from "@postern/apimachinery/schema/builder";

export const ownerFields = s.object({
  user: s.string().describe("Name of the user that owns the object."),
  team: s.string().describe("Name of the team that owns the object."),
});
export type Owner = Infer<typeof ownerFields>;

export const accessRuleFields = s.object({
  name: s.string().describe("Display name of the rule."),
  verbs: s.list(s.string()).describe("Verbs that the rule allows, such as get, use or update; * for all."),
  subresources: s
    .list(s.string())
    .describe("Subresources that the rule applies to as well, such as kubeconfig; * for all."),
  users: s.list(s.string()).describe("Users that the rule applies to; * for all."),
  teams: s.list(s.string()).describe("Teams that the rule applies to."),
});
export type AccessRule = Infer<typeof accessRuleFields>;
