# A small GPT on the characters of Shakespeare: 10.7M parameters, hours on two cores. For a minute's
# worth add --n_layer=4 --n_head=4 --n_embd=128 --block_size=64 --batch_size=12 --dropout=0
# --eval_iters=20 --max_iters=2000 --lr_decay_iters=2000.
# Data: snug prepare char input.txt data/shakespeare_char

out_dir = 'out-shakespeare-char'
dataset = 'shakespeare_char'

eval_interval = 250
eval_iters = 200
log_interval = 10
always_save_checkpoint = False  # it will overfit: keep the checkpoint with the best validation loss

gradient_accumulation_steps = 1
batch_size = 64
block_size = 256

n_layer = 6
n_head = 6
n_embd = 384
dropout = 0.2

learning_rate = 1e-3
max_iters = 5000
lr_decay_iters = max_iters
min_lr = learning_rate / 10
beta2 = 0.99
warmup_iters = 100
