//! One score of attention, followed by hand.

llm_report::bilingual! {
    opening(letters, here)
        "One score of attention, followed by hand: S{letters} = S{here}",
        "手工追踪注意力的一个分数：S{letters} = S{here}";
    layer(layer) "layer {layer}", "第 {layer} 层";
    token(letter, at, text, id)
        "{letter} = {at}: token {text} (id {id})",
        "{letter} = {at}：词元 {text}（编号 {id}）";
    built_in()
        "the built-in example: x and the weights are such that q, k, v are small integers",
        "内置示例：x 与权重的取值使 q、k、v 都是小整数";
    head_is_off(head)
        "head {head} is switched off in this model: its output is zeros",
        "这个模型里第 {head} 个头已关闭：它的输出全是零";
    more(n) "… {n} more", "…… 还有 {n} 行";
    sum_of(name, total) "{name} = sum = {total}", "{name} = 合计 = {total}";

    sizes() "Sizes", "尺寸";
    sequences() "sequences", "序列数";
    positions() "positions", "位置数";
    channels() "channels (d_model)", "通道数（d_model）";
    heads() "heads (n_heads)", "头数（n_heads）";
    head_channels() "channels of a head, C/H (head_dim)", "每个头的通道数，C/H（head_dim）";

    groups(group)
        "heads of keys and values (kv_heads); this head reads number {group}",
        "键和值的头数（kv_heads）；这个头读第 {group} 个";
    own_head_channels() "channels of a head (head_dim)", "每个头的通道数（head_dim）";
    window() "positions that a query sees, its own among them", "一个查询看得见的位置数，包括自己";
    columns_of(span) "columns {span} of qkv", "qkv 的第 {span} 列";
    normed() "each row divided by its root mean square, times a gain", "每行除以自己的均方根，再乘增益";

    rotation() "Rotation: the first pair of channels", "旋转：第一对通道";
    pairs(width, first, second, theta)
        "pairs are {width}/2 channels apart; pair 0 is channels {first} and {second}, and turns by \
         position * {theta}^(-0/{width}) = position radians",
        "一对通道相隔 {width}/2；第 0 对是通道 {first} 和 {second}，转过的角度是 \
         位置 * {theta}^(-0/{width}) = 位置（弧度）";
    scaled_frequencies(frequency)
        "frequencies are scaled for longer texts; that of pair 0 is {frequency}",
        "频率为更长的文本做了缩放；第 0 对的频率是 {frequency}";
    angle(name, position, angle, cos, sin)
        "{name} at position {position}: {angle} rad, cos {cos}, sin {sin}",
        "{name} 在位置 {position}：{angle} 弧度，cos {cos}，sin {sin}";
    relative(distance)
        "the product of the two pairs depends on the distance alone: {distance}",
        "两对的乘积只取决于距离：{distance}";

    shapes() "Shapes on the way", "一路上的形状";
    columns(q, k, v) "columns {q}, {k}, {v} of qkv", "qkv 的第 {q}、{k}、{v} 列";
    same_buffer() "a view: the same buffer, no number moves", "视图：同一块存储，数据不动";
    side_by_side() "a view: the heads side by side", "视图：各个头并排";

    projection()
        "From x to q: the first number of the query's row (the others, k and v likewise)",
        "从 x 到 q：查询行的第一个数（其余的数以及 k、v 也一样）";

    places() "Where the rows of i and j begin", "i 与 j 的行从哪里开始";
    inside_qkv(head)
        "the same inside qkv [B, T, 3C]: (b*T + t)*3C + part*C{head}",
        "同样的数在 qkv [B, T, 3C] 里：(b*T + t)*3C + part*C{head}";

    inside_grouped(heads, groups)
        "the same inside qkv, where {heads} heads of q come first, then {groups} of k and {groups} of v",
        "同样的数在 qkv 里：先是 {heads} 个 q 头，再是 {groups} 个 k 头和 {groups} 个 v 头";

    product()
        "Dot product: number by number, the two rows multiplied and added up",
        "点积：两行逐个相乘，再加起来";

    score() "Scale, mask, and where the score is stored", "缩放、掩码，以及分数存到哪里";
    scale(scale)
        "scale  {scale} (a product with the reciprocal, no division)",
        "缩放因子  {scale}（乘以倒数，不用除法）";
    scaled(product, scaled) "scaled  {product} = {scaled}", "缩放后  {product} = {scaled}";
    capped(product, capped) "soft cap  {product} = {capped}", "软上限  {product} = {capped}";
    hidden(i, j)
        "mask  j = {j} > i = {i}: hidden; -1e9 is written in its place, before softmax",
        "掩码  j = {j} > i = {i}：被遮住；softmax 之前在这里写入 -1e9";
    outside(j, i, window)
        "mask  j = {j} <= i - W = {i} - {window}: outside the window; -1e9 is written in its place",
        "掩码  j = {j} <= i - W = {i} - {window}：在窗口之外；在这里写入 -1e9";
    hidden_weighs_nothing()
        "so its weight is 0, v[j] adds nothing, and no gradient flows through this pair",
        "所以它的权重是 0，v[j] 不起作用，也没有梯度流过这一对";
    allowed(i, j)
        "mask  j = {j} <= i = {i}: allowed, nothing is changed",
        "掩码  j = {j} <= i = {i}：允许看，不改动";

    softmax(i, span)
        "Softmax of row i = {i} over all j, scores[{span}]",
        "第 i = {i} 行对所有 j 做 softmax，scores[{span}]";
    sum() "sum", "Σ";
    kernel_keeps(kept)
        "the fast kernel keeps only ln sum e^S = {kept} of this row",
        "这一行里，快速核函数只留下 ln Σ e^S = {kept}";

    weighted_sum()
        "Weighted sum: att[b, i, :] = sum over j of P[j]*v[b, j, :]",
        "加权求和：att[b, i, :] = Σ_j P[j]*v[b, j, :]";
    weighted_sum_of_head()
        "Weighted sum: att[b, i, h, :] = sum over j of P[j]*v[b, j, h, :]",
        "加权求和：att[b, i, h, :] = Σ_j P[j]*v[b, j, h, :]";
    zeros_are_stored()
        "this head is switched off: zeros are stored in place of the sum",
        "这个头已关闭：存入的是零，而不是这个和";

    output() "Where it is stored, and the output projection", "存到哪里，以及输出投影";
    seen_as_channels(channels, row)
        "seen as [B, T, C]: channels {channels} of att[{row}], from h*D on, D of them",
        "按 [B, T, C] 看：第 {channels} 个通道，在 att[{row}] 这一行里，从 h*D 开始，共 D 个";
    all_heads(row)
        "all heads side by side  att[b, i, :] = {row}",
        "所有的头并排  att[b, i, :] = {row}";
    projected()
        "out[b, i, :] = att[b, i, :]*w_proj + b_proj; its first number:",
        "out[b, i, :] = att[b, i, :]*w_proj + b_proj；其中第一个数：";

    kernel() "What the fast kernel has, in f32", "快速核函数（f32）得到的数";
    kernel_agrees(here, has, dp, datt)
        "P{here}: the kernel has {has}; largest difference in P {dp}, in att {datt}: no more than \
         rounding",
        "P{here}：核函数得到 {has}；最大差异：P 为 {dp}，att 为 {datt}，不超过舍入误差";
    kernel_differs(here, has, dp, datt)
        "P{here}: the kernel has {has}; largest difference in P {dp}, in att {datt}: MORE THAN \
         ROUNDING",
        "P{here}：核函数得到 {has}；最大差异：P 为 {dp}，att 为 {datt}，超过了舍入误差";
}
