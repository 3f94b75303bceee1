// The views of virtual clusters that are loaded together.

export { ClusterPage } from "./cluster-page.tsx";
export { ClustersPage } from "./clusters-page.tsx";
