// The pages of virtual clusters, loaded together.

export { ClusterPage } from "./cluster-page.tsx";
export { ClustersPage } from "./clusters-page.tsx";
