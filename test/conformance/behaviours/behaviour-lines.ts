// The shape of the files beside this one.

/** Behaviours of kube-apiserver by id, such as `L-03`, each with one line that says it. */
export type BehaviourLines = { readonly [id: string]: string };
