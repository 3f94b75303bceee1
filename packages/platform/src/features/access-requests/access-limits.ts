// Limits of access policies and requests. None of them multiplies with another: see README.md.

/** Policies of one project. */
export const MAX_PROJECT_POLICIES = 50;
export const MAX_CLUSTER_POLICIES = 100;
/** Pending and approved requests of one user. */
export const MAX_OPEN_PER_USER = 20;
/** The same for one project, or for the connected clusters together: a decision looks at those of its project. */
export const MAX_OPEN_PER_PLACE = 200;
/** Ended requests of a user that are kept, and for how long. */
export const MAX_ENDED_PER_USER = 100;
export const KEEP_ENDED_MS = 30 * 86_400_000;
/** A user gets no further request while more than this are stored. */
export const MAX_STORED_PER_USER = 2 * MAX_ENDED_PER_USER;
/** People who may approve by one policy; their digests are recorded with each request. */
export const MAX_APPROVERS = 256;
/** A pending request that is not approved in time expires. */
export const PENDING_MS = 86_400_000;
/** Cost of one CEL expression, in the units of Kubernetes: about the values that are looked at. */
export const EXPRESSION_COST = 20_000;
/** Expressions that are evaluated to find a policy for a refusal. */
export const MAX_OFFER_EXPRESSIONS = 4;
/** How far the clocks of servers may differ. A grant from further in the future was made while a clock was wrong. */
export const CLOCK_SKEW_MS = 300_000;
