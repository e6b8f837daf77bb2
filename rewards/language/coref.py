"""stub"""


def find_clusters(docs, method="rules"):
    return [[] for _ in docs]
