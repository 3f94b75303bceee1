// The pages of trust rules, identity providers, leak reports and the audit log, loaded together.

export { AuditPage } from "../audit/audit-page.tsx";
export { LeakReportsPage } from "../leak-reports-page.tsx";
export { ProvidersPage } from "../providers-page.tsx";
export { TrustPage } from "./trust-page.tsx";
export { TrustRulePage } from "./trust-rule-page.tsx";
